module extmem

go 1.23
