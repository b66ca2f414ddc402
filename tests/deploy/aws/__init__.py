"""A local AWS: moto's server, and what moto lacks of MSK and EKS."""
