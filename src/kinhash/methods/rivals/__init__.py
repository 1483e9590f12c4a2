"""The methods that sparse hashing is compared with, one file each."""
