"""A local AWS: moto's server, with the parts of MSK and EKS that moto lacks."""
