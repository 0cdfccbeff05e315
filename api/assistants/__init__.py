"""Pages on which a person connects an assistant, and sees and ends its connections."""
