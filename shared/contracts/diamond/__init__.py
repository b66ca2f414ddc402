"""How provisioner, deployer, observer and autoscaler keep out of each other's way on a side."""
