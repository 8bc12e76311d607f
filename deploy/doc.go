// Package deploy holds what runs the project elsewhere than from its source
// tree, and the tests of that; docker-compose.yml is at the root, where docker
// compose looks for it.
package deploy
