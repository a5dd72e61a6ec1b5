module hyperdelay

go 1.19

require (
	github.com/klauspost/compress v1.15.12
	github.com/pierrec/lz4 v2.5.2+incompatible
)
