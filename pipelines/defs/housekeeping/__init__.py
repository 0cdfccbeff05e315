"""What is removed, anonymised or entered once a day."""
