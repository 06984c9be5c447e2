// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.28;

import {TransferGroups} from "./Register.sol";
import {ForceTransfers, SecurityToken} from "./SecurityToken.sol";

/// One Transfer per movement: generations 4 and 5.
abstract contract SingleTransfers is ForceTransfers {
    function logsApprovalOfTransferFrom() internal pure override returns (bool) {
        return false;
    }

    function logsForceFirst() internal pure override returns (bool) {
        return false;
    }

    function logSend(address from, address to, uint256 unlockedPart, uint256 simplePart) internal virtual override {
        emit Transfer(from, to, unlockedPart + simplePart);
        welcome(to);
    }

    function logFund(address from, address to, uint256 unlockedPart, uint256 simplePart) internal virtual override {
        emit Transfer(from, to, unlockedPart + simplePart);
        welcome(to);
    }

    function logClaim(address from, address to, uint256 amount) internal virtual override {
        emit Transfer(from, to, amount);
    }

    /// The unlocked part stays where it is logged to be: with the target.
    function logCancel(address target, address reclaimTo, uint256 canceled, uint256) internal virtual override {
        emit Transfer(target, reclaimTo, canceled);
    }
}

/// Generation 4: no code of it is public. Transfer groups as before, movements as after.
contract SecurityTokenV4 is SingleTransfers, TransferGroups {
    constructor(
        string memory name_,
        string memory symbol_,
        uint8 decimals_,
        uint256 supply
    ) SecurityToken(name_, symbol_, decimals_, supply) {}

    function setTransferGroup(address addr, uint256 groupId, bool) external only(WALLETS_ADMIN) {
        if (getTransferGroup[addr] != groupId) moveToGroup(addr, groupId);
    }
}
