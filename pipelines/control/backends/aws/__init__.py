"""Two sides in AWS: EKS, MSK, S3 and Route 53."""
