// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.28;

import {SecurityToken} from "./SecurityToken.sol";
import {SecurityTokenV4} from "./SecurityTokenV4.sol";

/// Logs anything, as the issuer of an upgradeable token may have it do.
abstract contract LogsAnything {
    function emitLog(bytes32[] calldata topics, bytes calldata content) external {
        bytes memory data = content;
        bytes32[4] memory t;
        for (uint256 i = 0; i < topics.length; i++) t[i] = topics[i];
        uint256 count = topics.length;
        assembly {
            let at := add(data, 0x20)
            let length := mload(data)
            switch count
            case 0 { log0(at, length) }
            case 1 { log1(at, length, mload(t)) }
            case 2 { log2(at, length, mload(t), mload(add(t, 0x20))) }
            case 3 { log3(at, length, mload(t), mload(add(t, 0x20)), mload(add(t, 0x40))) }
            default { log4(at, length, mload(t), mload(add(t, 0x20)), mload(add(t, 0x40)), mload(add(t, 0x60))) }
        }
    }
}

contract MalformedToken is SecurityTokenV4, LogsAnything {
    constructor(
        string memory name_,
        string memory symbol_,
        uint8 decimals_,
        uint256 supply
    ) SecurityTokenV4(name_, symbol_, decimals_, supply) {}
}

/// Answers no question: reverts (0), fails (1), never ends (2), answers nothing (3), answers a megabyte (4), reverts in
/// the words of an overloaded node (5).
contract HostileToken is LogsAnything {
    uint256 private immutable way;

    constructor(uint256 way_) {
        way = way_;
    }

    fallback() external {
        if (way == 0) revert("no");
        if (way == 1) assembly { invalid() }
        if (way == 2) while (true) {}
        if (way == 4) assembly { return(0, 1048576) }
        if (way == 5) revert("429 too many requests: rate limit");
    }
}
