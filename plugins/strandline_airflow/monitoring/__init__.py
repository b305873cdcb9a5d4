"""How a source stands, and who hears of it."""
