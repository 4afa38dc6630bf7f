import { digestOfLife, LIVES } from '#test/identity/lives';

/*
 * Prints the digest of each life, one for each line.
 * Record: node test/identity/print-lives.ts > test/identity/lives.txt
 */

for (let life = 0; life < LIVES; life += 1) console.log(digestOfLife(life));
