"""A real Kubernetes control plane for each side; KWOK simulates nodes and pods."""
