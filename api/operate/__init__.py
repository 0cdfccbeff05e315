"""The supervisor behind `pcds serve`, health and metrics, and the commands of an operator."""
