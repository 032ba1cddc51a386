"""How is Brimful a part of the frameworks that people already use? One module a framework, each with its extra."""
