"""How much of what a question needs stands in a context of so many tokens?"""
