"""The feed of changes, and the webhooks to which changes are sent."""
