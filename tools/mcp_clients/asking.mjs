// Runs a TypeScript client against a connector: connects, lists the tools, calls two, and prints one line of JSON.
//
// MCP_URL is the connector's address. MCP_TOKEN is an access token; without one the client finds the authorization
// server by itself, registers, prints the address at which a person signs in and allows, and reads from its input the
// address to which the person was redirected.

import { createInterface } from 'node:readline/promises';

const REDIRECT = 'http://127.0.0.1:33418/callback';

class Person {
  redirectUrl = REDIRECT;
  clientMetadata = { client_name: 'A client', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.held; }
  saveTokens(tokens) { this.held = tokens; }
  codeVerifier() { return this.verifier; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  redirectToAuthorization(address) { console.log(JSON.stringify({ authorize: address.href })); }
}

// `returned` converts the parameters of the redirect to the input of the client's transport.
export async function asked(Transport, newClient, returned) {
  const address = new URL(process.env.MCP_URL);
  const token = process.env.MCP_TOKEN;
  const options = token
    ? { requestInit: { headers: { Authorization: `Bearer ${token}` } } }
    : { authProvider: new Person() };
  let [client, transport] = [newClient(), new Transport(address, options)];
  try {
    await client.connect(transport);
  } catch (error) {
    if (token || error.constructor.name !== 'UnauthorizedError') throw error;
    await transport.finishAuth(returned(new URL(await line()).searchParams));
    [client, transport] = [newClient(), new Transport(address, options)];
    await client.connect(transport);
  }
  const { tools } = await client.listTools();
  const items = await client.callTool({ name: 'list_packaging_items', arguments: { limit: 1 } });
  const facts = await client.callTool({ name: 'get_product_facts', arguments: { limit: 1 } });
  console.log(JSON.stringify({
    server: client.getServerVersion()?.name,
    tools: tools.map((tool) => tool.name),
    items: items.structuredContent.page.total,
    facts: facts.structuredContent.facts.length,
  }));
  await client.close();
}

async function line() {
  const input = createInterface({ input: process.stdin });
  for await (const said of input) {
    input.close();
    return said;
  }
  throw new Error('nobody came back');
}
