"""What `make bench-query` is made of."""
