"""Values of columns: their types, how JSON spells them, and how they are shown."""
