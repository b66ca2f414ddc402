"""How much a side needs: a model of cost, rating and dollars from measured points, and a simulated burst."""
