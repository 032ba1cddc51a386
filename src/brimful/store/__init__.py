"""Where the columns live, and what is true of them at one moment."""
