"""The families of generated statements, and what they are made of: names, terms, formulas, small provers."""
