"""What recorded runs tell afterwards: what another policy would have made of them, what they wasted, whether they decide the same again."""
