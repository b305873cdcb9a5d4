"""What a run is made of: its manifest, its steps around the engine, its publication."""
