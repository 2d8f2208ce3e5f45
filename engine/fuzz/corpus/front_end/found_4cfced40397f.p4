#in2|ude el.pz4>
#incl5de <not]ing<v1model.pz4>
#incl5de <not]ing.v1model>
