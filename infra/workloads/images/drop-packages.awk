# Removes packages and the lines of their hashes from a requirements file: awk -v drop="one two".
BEGIN { split(drop, names, " "); for (i in names) dropped[names[i]] = 1 }
/^[A-Za-z0-9]/ { split($0, part, /[=<>~! ;\[]/); keep = !(part[1] in dropped) }
/^[^A-Za-z0-9 ]/ { keep = 1 }
keep
