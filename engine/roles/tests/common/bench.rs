//! One server and a switch with the frames handed over by hand, to make a race happen.
