"""How do people and programs reach the engine? Parse, call it, render: no surface imports another."""
