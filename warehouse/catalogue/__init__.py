"""The jurisdiction catalogue as it is loaded."""
