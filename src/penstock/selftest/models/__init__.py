"""How well the models do, one file for each kind of target."""
