"""Live racks and labs: specification, nodes, start, status and stop."""
