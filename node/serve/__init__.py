"""The verification service: Kimina Lean Server's HTTP API over our Lean workers."""
