"""A real Kubernetes control plane for each side, with nodes and pods that only KWOK plays."""
