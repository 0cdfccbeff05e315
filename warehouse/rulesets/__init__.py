"""Rule-sets that operators added, which one grades, and the regrades that an activation asked for."""
