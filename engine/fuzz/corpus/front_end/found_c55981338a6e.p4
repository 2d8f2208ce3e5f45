#inodel.p4>
#includ { clude <v1model.p4>
#includ { 