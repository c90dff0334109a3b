"""Long texts above a gap: compiled once, as modules, and imported from then on."""
