E #if transit 1
  " ä ot<8b<i "ot<8b<i 