"""What people read: escaped text, tables, help."""
