"""Which pinned versions of a side are behind what AWS and the charts' repositories offer."""
