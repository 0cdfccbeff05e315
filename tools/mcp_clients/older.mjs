// Runs the client of the older handshake.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { asked } from './asking.mjs';

await asked(
  StreamableHTTPClientTransport,
  () => new Client({ name: 'older', version: '1' }),
  (parameters) => parameters.get('code'),
);
