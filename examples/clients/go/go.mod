module hyperdelay

go 1.19
