"""The actions of events. Each class with a `NAME` in a module here is one."""
