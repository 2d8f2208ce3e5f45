"""What a rack is made of; bring it up, inspect it, take it down."""
