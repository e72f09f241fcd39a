// SPDX-License-Identifier: Apache-2.0
// An S3 server that others wrote, which checks signatures: node s3.js DIRECTORY. Ends with its standard input.
const S3rver = require('@20minutes/s3rver')

const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  silent: true,
  directory: process.argv[2],
  configureBuckets: [{ name: 'bucket' }],
})
server.run().then(({ port }) => console.log('listening', port))
process.stdin.on('end', () => process.exit(0)).resume()
