"""Makes, keeps and explains what a company reports to a scheme or a register."""
