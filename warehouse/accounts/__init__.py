"""People who sign in, their passwords and sessions, and the applications that they connected."""
