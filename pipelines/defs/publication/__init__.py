"""A company's portfolio as it leaves the database, published after each write."""
